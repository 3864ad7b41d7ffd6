"""Hook of mkdocs: a link to a file of the repository outside of docs/ leads to a copy of that file in the book.

A page of docs/ then reads the same in the repository and in the book. A link to a file that does not exist stays as it
is, and mkdocs reports it.
"""

import posixpath
import re
from pathlib import Path

from mkdocs.structure.files import File

ROOT = Path(__file__).resolve().parent.parent
LINK = re.compile(r"(\]\()(\.\./[^)#\s]+)")


def on_page_markdown(markdown, page, config, files):
    folder = posixpath.dirname(page.file.src_uri)

    def replace(match):
        path = posixpath.normpath(posixpath.join("docs", folder, match[2]))
        source = ROOT / path
        if not source.exists():
            return match[0]
        # Folders and files without a suffix have no page of their own.
        target = source / "README.md" if source.is_dir() else source
        if not target.is_file():
            return match[0]
        uri = "repository/" + target.relative_to(ROOT).as_posix() + ".txt"
        if files.get_file_from_path(uri) is None:
            files.append(File.generated(config, uri, abs_src_path=str(target)))
        return match[1] + posixpath.relpath(uri, folder or ".")

    return LINK.sub(replace, markdown)
