// What a slot does in one iteration, by the number in the recording.

export const PREFILL = 0;
export const DECODE = 1;
export const PADDING = 2;
export const STALLED = 3;
