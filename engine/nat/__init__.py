"""Non-autoregressive (NAT) translation systems: decoders that write all places of a text at once.

They read the states of an encoder-decoder target's encoder and share its embeddings; what is theirs is a decoder
(`network`) and a way to write (one module a system). `canvas` is what they show of it.
"""
