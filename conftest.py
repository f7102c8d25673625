"""Modules whose libraries are not installed are not looked through for examples."""

from importlib.util import find_spec

collect_ignore_glob = [] if find_spec("torch") else ["src/precall/engines/gpu/*.py"]
if not find_spec("triton"):
    collect_ignore_glob += [f"src/precall/engines/gpu/{name}.py" for name in ("fused", "kernels")]
for library in ("torchmetrics", "lightning"):
    if not (find_spec("torch") and find_spec(library)):
        collect_ignore_glob.append(f"src/precall/integrations/{library}.py")
if not find_spec("torch"):
    collect_ignore_glob.append("src/precall/integrations/gathering.py")
