// What a reason's code means for counting.

/** Whether a request came with a reason of this code. */
export function isArrival(code) {
  return code === "queued" || code.startsWith("rejected_");
}

/** Whether a request had then all that this engine had to do for it. */
export function isDone(code) {
  return code.startsWith("finished_") || code === "transferred";
}
