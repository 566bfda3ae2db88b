"""The node agent: reads accelerator cards, keeps minute rows, serves or pushes them.

A package of its own: standard library and ``nvidia-ml-py`` only. It shares nothing with the
server but the samples page (docs/collector.md).
"""

__version__ = "0.1.0"
