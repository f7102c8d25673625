"""Scripts of the site run when it is built, not here. Modules whose libraries are not installed are not looked through for examples."""

from importlib.util import find_spec

collect_ignore_glob = ["docs/*.py"]
if not find_spec("torch"):
    collect_ignore_glob += ["src/precall/engines/gpu/*.py"]
if not find_spec("triton"):
    collect_ignore_glob += [f"src/precall/engines/gpu/{name}.py" for name in ("fused", "kernels")]
_integrations = "src/precall/integrations"
if not find_spec("torch"):
    collect_ignore_glob.append(f"{_integrations}/gathering.py")
if not find_spec("torchmetrics"):
    collect_ignore_glob.append(f"{_integrations}/torchmetrics.py")
if not (find_spec("torchmetrics") and find_spec("lightning")):
    collect_ignore_glob.append(f"{_integrations}/lightning.py")
