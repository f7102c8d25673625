"""One recording, whatever it is stored as, to mono samples from −1 to 1."""

import io
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from precall.inputs.items import BrokenInputError, Raw, Sound
from precall.runtime.refusals import needed

ENDINGS = {".wav", ".flac", ".ogg"}
_LONGEST = 3600  # seconds: a longer one is no sample


def read_sound(raw: Raw) -> Sound:
    """Read a recording from a file, its bytes, or samples with their rate; channels are averaged.

    Of several channels the mean is taken; integers are scaled to −1 to 1.
    """
    if isinstance(raw, Sound):
        return raw
    if isinstance(raw, Path) and not raw.is_file():
        raise BrokenInputError("is no file")
    soundfile = needed("soundfile", "recordings need", "'precall[audio]'")
    try:
        with soundfile.SoundFile(raw if isinstance(raw, Path) else io.BytesIO(raw)) as file:
            if file.frames > _LONGEST * file.samplerate:
                raise BrokenInputError("is longer than an hour; cut it into samples")
            samples = file.read(dtype="float32", always_2d=True).mean(axis=1)
            rate = int(file.samplerate)
    except BrokenInputError:
        raise
    except Exception as error:  # whatever a decoder makes of a damaged file
        raise BrokenInputError(f"is damaged: {str(error) or type(error).__name__:.100}") from error
    if len(samples) == 0 or not np.isfinite(samples).all():
        raise BrokenInputError(
            "is empty" if len(samples) == 0 else "holds values that are no sound"
        )
    return Sound(np.ascontiguousarray(samples), rate)


def at_rate(sound: Sound, rate: int) -> NDArray[np.float32]:
    """Resample by a polyphase filter."""
    from math import gcd

    from scipy.signal import resample_poly

    if sound.rate == rate:
        return sound.samples
    common = gcd(sound.rate, rate)
    changed = resample_poly(sound.samples, rate // common, sound.rate // common)
    return np.asarray(changed, np.float32)


def as_wav(sound: Sound) -> bytes:
    """Write a recording as 16-bit .wav, for pages."""
    import wave

    buffer = io.BytesIO()
    with wave.open(buffer, "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(sound.rate)
        loudest = np.clip(sound.samples, -1, 1)
        file.writeframes(np.round(32767 * loudest).astype("<i2").tobytes())
    return buffer.getvalue()
