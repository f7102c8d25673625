"""The best engine of this machine, whatever the work."""

from precall.engines.protocol import Engine
from precall.errors import InputError


def best_engine() -> Engine:
    """Return the engine of the GPU if there is one that serves, or else the CPU's."""
    from precall.engines.cpu.engine import CpuEngine
    from precall.engines.gpu.device import find_device, may_have_gpu

    if may_have_gpu():
        try:
            device = str(find_device("gpu"))
        except (InputError, ImportError):
            return CpuEngine()
        from precall.engines.gpu.engine import GpuEngine

        engine: Engine = GpuEngine(device)
        return engine
    return CpuEngine()
