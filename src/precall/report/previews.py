"""Samples as a page shows them: pictures small, texts as text, sounds to be played."""

import base64
from collections.abc import Callable
from dataclasses import dataclass, field

from precall.inputs.items import BrokenInputError, Inputs, Kind, Raw, Sound
from precall.inputs.pictures import read_picture
from precall.inputs.sounds import as_wav, at_rate, read_sound
from precall.inputs.texts import read_text
from precall.report.thumbnails import Preview, encoded

_LONGEST_TEXT = 400  # letters
_LONGEST_SOUND = 10  # seconds
_SOUND_RATE = 16_000


@dataclass(frozen=True, slots=True, eq=False)
class InputPreviews:
    """The inputs that features were made of, by row."""

    inputs: Inputs
    asked: dict[object, bool] = field(default_factory=dict)  # names, and whether they were read

    def show(self, row: int) -> Preview | None:
        """Return a sample as a page can show it; ``None`` if it cannot be read any more."""
        try:
            shown = _SHOWN[self.inputs.kind](self.inputs.raw(row))
        except (BrokenInputError, OSError, ImportError):
            self.asked[self.inputs.name(row)] = False
            return None
        self.asked[self.inputs.name(row)] = True
        return shown._replace(name=self.inputs.name(row))


def _picture(raw: Raw) -> Preview:
    return Preview("picture", encoded(read_picture(raw)))


def _text(raw: Raw) -> Preview:
    text = read_text(raw)
    return Preview("text", text if len(text) <= _LONGEST_TEXT else f"{text[:_LONGEST_TEXT]}…")


def _sound(raw: Raw) -> Preview:
    sound = read_sound(raw)
    start = Sound(sound.samples[: _LONGEST_SOUND * sound.rate], sound.rate)
    wav = as_wav(Sound(at_rate(start, _SOUND_RATE), _SOUND_RATE))
    return Preview("sound", f"data:audio/wav;base64,{base64.b64encode(wav).decode()}")


_SHOWN: dict[Kind, Callable[[Raw], Preview]] = {
    "pictures": _picture,
    "texts": _text,
    "sounds": _sound,
}
