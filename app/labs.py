"""The labs of a server: each is loaded at its first use, in a thread of its own; one that is there never waits for one
that is not. No gradio, no torch."""

import threading
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, wait

from app.ending import ENDING, ENDS
from app.turns import LabLike
from engine import progress
from engine.errors import ConfigError

LOOKS = 0.5  # seconds between two looks at a lab that is being loaded; whoever left is noticed as often


class Labs:
    """Labs by the name of their models, and one pair that a visitor named."""

    def __init__(self, loaders: Mapping[str, Callable[[], LabLike]]) -> None:
        """Take the function that loads each."""
        self.names, self._loaders = tuple(loaders), dict(loaders)
        self._labs, self._coming, self._opened = dict[str, LabLike](), dict[str, Future[LabLike]](), ""
        self._lock = threading.Lock()

    def there(self, name: str) -> LabLike | None:
        """A lab, if it is loaded."""
        return self._labs.get(name)

    def get(self, name: str) -> LabLike:
        """A lab, loaded by this thread where nobody loads it yet.

        Raises:
            ConfigError: it is not here any more. Whatever its loading raises.
        """
        coming, load = self._claim(name)
        if load:
            load()
        return coming.result()

    def comes(self, name: str) -> Iterator[None]:
        """An item every now and then until a lab is loaded, in a thread that goes on where nobody waits for it.

        Raises:
            ConfigError: it is not here any more. Whatever its loading raises.
        """
        coming, load = self._claim(name)
        if load:
            threading.Thread(target=load, daemon=True).start()
        while not wait([coming], LOOKS).done:
            yield
        coming.result()

    def take(self, name: str, lab: LabLike) -> str:
        """A visitor's models in place of those that one named before; see `Service.take`."""
        with self._lock:
            old = self._opened
            name = name if name == old or name not in self.names else f"{name} (opened)"
            if old and old != name:
                self.names = tuple(one for one in self.names if one != old)
                del self._loaders[old], self._labs[old]
            self._labs[name], self._loaders[name], self._opened = lab, lambda: lab, name
            self.names = tuple(dict.fromkeys((*self.names, name)))
            return name

    def _claim(self, name: str) -> tuple["Future[LabLike]", Callable[[], None] | None]:
        """A lab that comes, and what makes it come where that is left to the caller."""
        with self._lock:
            coming = self._coming.get(name)
            if coming:
                return coming, None
            coming = Future[LabLike]()
            if lab := self._labs.get(name):
                coming.set_result(lab)
                return coming, None
            loader = self._loaders.get(name)
            if loader is None:
                raise ConfigError(f"{name} is not here any more: other models were opened in its place. Choose again.")
            self._coming[name] = coming
            return coming, lambda: self._load(name, loader, coming)

    def _load(self, name: str, loader: Callable[[], LabLike], coming: "Future[LabLike]") -> None:
        try:
            with ENDING.work(), progress.stoppable(ENDING.comes):
                lab = loader()
        except BaseException as error:  # for all who wait; the next one tries anew
            with self._lock:
                del self._coming[name]
            coming.set_exception(ConfigError(ENDS) if isinstance(error, progress.Stopped) else error)
        else:
            with self._lock:
                self._labs[name] = lab
                del self._coming[name]
            coming.set_result(lab)
