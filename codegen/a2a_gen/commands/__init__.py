"""Commands of ``a2a-gen``, one module each.

``cli.py`` loads them; ``console.py`` formats their output.
"""
