"""The model in torch: GPT-2 on ragged batches over a paged KV cache, its weights, its tokens."""
