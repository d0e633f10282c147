"""Read ARM lists page by page: the entries of a page, and the URL of the next one.

No I/O: the caller reads the pages. A list that cannot be read to its end is an error
and never a shorter list, because missing entries might be taken for deleted resources.
Rules: Q1, H4.
"""

import attrs

from asoreconcile.azure.arm.bearer import ForeignHostError
from asoreconcile.azure.arm.endpoint import Endpoint
from asoreconcile.azure.arm.errors import ArmError, protocol_fault, stated_object
from asoreconcile.azure.arm.response import ArmResponse
from asoreconcile.base.objects import JsonObject

# Far beyond the longest list of Azure: a longer one is endless, and would fill the
# memory.
MAX_PAGES = 1000
MAX_ENTRIES = 200_000
MAX_BYTES = 256 * 1024 * 1024


@attrs.define
class Paging:
    """The state of reading one list. url: URL of the next page, "" at the end.

    link: the member of a page that names the next one; Microsoft Graph uses another.
    """

    endpoint: Endpoint
    url: str
    link: str = "nextLink"
    needs_value: bool = False
    pages: int = 0
    entries: int = 0
    size_bytes: int = 0
    _seen: set[str] = attrs.field(factory=set, init=False)

    def turn(self, answer: ArmResponse) -> list[JsonObject]:
        """Return the entries of the page at `url`, and move `url` to the next page.

        answer: a response with status 200.

        Raises ArmError for a response that is not a page, for a list that forms a
        circle and for a list beyond MAX_PAGES, MAX_ENTRIES or MAX_BYTES, and
        ForeignHostError for a next page on another host.
        """
        page = stated_object(answer, method="GET", url=self.url)
        entries = self._entries(page, answer)
        following = self._following(page, answer)
        self.pages += 1
        self.entries += len(entries)
        self.size_bytes += len(answer.content)
        self._check_bounds(following, answer)
        self._seen.add(self.url)
        self.url = following
        return entries

    def _entries(self, page: JsonObject, answer: ArmResponse) -> list[JsonObject]:
        value = page.get("value")
        if value is None and not self.needs_value and "error" not in page:
            return []
        if not isinstance(value, list):
            raise self._fault(answer, "the list's `value` is no list")
        if not all(isinstance(entry, dict) for entry in value):
            raise self._fault(answer, "the list holds what is no object")
        return value

    def _following(self, page: JsonObject, answer: ArmResponse) -> str:
        following = page.get(self.link)
        if not following:
            return ""
        if not isinstance(following, str):
            raise self._fault(answer, f"the list's `{self.link}` is no URL")
        following = self.endpoint.resolved(following)
        if following == self.url or following in self._seen:
            message = f"the list leads in a circle after {self.pages + 1} pages"
            raise self._fault(answer, message)
        if not self.endpoint.serves(following):
            raise ForeignHostError("the list's next page is on a foreign host")
        return following

    def _check_bounds(self, following: str, answer: ArmResponse) -> None:
        if self.entries > MAX_ENTRIES or self.size_bytes > MAX_BYTES:
            message = (
                f"the list is too long: {self.entries} entries, {self.size_bytes} bytes"
            )
            raise self._fault(answer, message)
        if following and self.pages >= MAX_PAGES:
            message = f"the list does not end after {self.pages} pages"
            raise self._fault(answer, message)

    def _fault(self, answer: ArmResponse, message: str) -> ArmError:
        return protocol_fault(answer, message, method="GET", url=self.url)
