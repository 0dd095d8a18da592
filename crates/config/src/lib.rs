//! LiteLLM's config.yaml, read with positions, checked whole, lowered to typed settings.
