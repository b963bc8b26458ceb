"""Read statements into slots that are the same in every language, and compare two of them.

`reading.frame_of` and `frames_of` read a statement; `compare.compare` judges two. Both are pure.
"""

from memory.extraction.frames.reading import Frame, frame_of, frames_of

__all__ = ["Frame", "frame_of", "frames_of"]
