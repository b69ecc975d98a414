"""The update job in PyTorch: the losses of the embedded trainer (tiny/nn), held to the same vectors.

loss.py is the losses, wire.py the files that longhaul writes, train.py one optimiser step.
"""
