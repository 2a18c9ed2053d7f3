"""The commands of ``a2a-gen``, one file each. ``group.py`` finds them; ``console.py`` is how they talk."""
