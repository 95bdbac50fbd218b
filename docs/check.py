"""Check the pages that were built: ``python docs/check.py docs/_build/html``.

The pages must work without a network, so nothing that they show may come from another
site. Every link between them must lead somewhere, and every picture must have a text
for those who cannot see it.
"""

import sys
from collections import defaultdict
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

# Where a tag names what the browser is to load.
LOADED = {"img": "src", "script": "src", "iframe": "src", "link": "href"}
# Other tags that lead somewhere, and links in the head that load nothing.
LINKED = {"a": "href"}
NOT_LOADED = {"canonical", "next", "prev", "search", "index", "author"}


class Page(HTMLParser):
    """What a page loads, where it leads, and which anchors it has."""

    def __init__(self, path):
        super().__init__()
        self.loaded, self.linked, self.anchors, self.silent = [], [], set(), []
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        self.anchors.update(attributes.get(key) for key in ("id", "name"))
        # An empty text is for a picture that repeats what stands beside it.
        if tag == "img" and "alt" not in attributes:
            self.silent.append(attributes.get("src"))
        rel = set((attributes.get("rel") or "").split())
        if tag in LOADED and not rel & NOT_LOADED and attributes.get(LOADED[tag]):
            self.loaded.append(attributes[LOADED[tag]])
        elif tag in LINKED and attributes.get(LINKED[tag]):
            self.linked.append(attributes[LINKED[tag]])


def complaints(folder):
    """Return one sentence for each fault of the pages below a folder."""
    folder = Path(folder).resolve()
    pages = {
        path: Page(path)
        for path in folder.rglob("*.html")
        if "_static" not in path.relative_to(folder).parts
    }
    found = defaultdict(list)
    for path, page in pages.items():
        for source in page.silent:
            found[path].append(f"{source} has no alternative text")
        for address in page.loaded:
            parts = urlsplit(address)
            if parts.netloc:
                found[path].append(f"loads {address} from another site")
        for address in (*page.loaded, *page.linked):
            parts = urlsplit(address)
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / unquote(parts.path)) if parts.path else path
            target = target.resolve()
            anchor = unquote(parts.fragment)
            if not target.exists():
                found[path].append(f"{address} leads nowhere")
            elif anchor and target in pages and anchor not in pages[target].anchors:
                found[path].append(f"{address} names no anchor of that page")
    return [
        f"{path.relative_to(folder)}: {fault}"
        for path in sorted(found)
        for fault in found[path]
    ]


if __name__ == "__main__":
    faults = complaints(sys.argv[1])
    print(*faults, sep="\n", end="\n" if faults else "")
    sys.exit(bool(faults))
