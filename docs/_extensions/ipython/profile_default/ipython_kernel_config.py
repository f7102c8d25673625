"""Pictures of cells that run are vectors, sharp at any size."""

c = get_config()  # noqa: F821 - defined by IPython
c.InlineBackend.figure_formats = {"svg"}
c.IPKernelApp.log_level = "ERROR"
