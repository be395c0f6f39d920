"""Check what readers see: open pages in a headless browser, at three widths and in both themes.

::

    python scripts/check_pages.py docs/_build/html index.html quickstart.html

The first argument is the folder of the built site, the others are pages relative to it. It needs
Chromium or Chrome on the path, and does nothing without one. What is checked stands in
``check_pages.js``.
"""

from __future__ import annotations

import argparse
import base64
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
WIDTHS = (390, 820, 1400)
THEMES = ("light", "dark")
HEIGHT = 900
HIGHEST_PICTURE = 16_000
CHECKS = Path(__file__).with_suffix(".js").read_text("utf-8")


class Browser:
    """A page of a browser that is told what to do by the DevTools protocol, through two pipes."""

    def __init__(self, commands: int, answers: int) -> None:
        self._commands, self._answers, self._unread = commands, answers, b""
        self._session: dict[str, str] = {}
        self._n_sent = 0
        self.events: list[dict[str, Any]] = []
        target = self.send("Target.createTarget", url="about:blank")
        session = self.send("Target.attachToTarget", flatten=True, **target)
        self._session = {"sessionId": session["sessionId"]}
        for domain in ("Page", "Runtime", "Log"):
            self.send(f"{domain}.enable")

    def _read(self) -> dict[str, Any]:
        while b"\0" not in self._unread:
            some = os.read(self._answers, 1 << 20)
            if not some:
                raise SystemExit("the browser ended before the check did.")
            self._unread += some
        text, _, self._unread = self._unread.partition(b"\0")
        return json.loads(text)

    def send(self, method: str, **params: Any) -> dict[str, Any]:
        """Give a command and return its result; what happens meanwhile is an event."""
        self._n_sent += 1
        message = {"id": self._n_sent, "method": method, "params": params, **self._session}
        os.write(self._commands, json.dumps(message).encode() + b"\0")
        while (answer := self._read()).get("id") != self._n_sent:
            self.events.append(answer)
        if "error" in answer:
            raise SystemExit(f"{method}: {answer['error']['message']}")
        return answer["result"]

    def open(self, url: str) -> None:
        """Open a page and wait until it is loaded."""
        self.events.clear()
        self.send("Page.navigate", url=url)
        while all(event["method"] != "Page.loadEventFired" for event in self.events):
            self.events.append(self._read())

    def evaluate(self, script: str) -> Any:
        """Return what a script returns."""
        answer = self.send(
            "Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True
        )
        if "exceptionDetails" in answer:
            raise SystemExit(answer["exceptionDetails"]["exception"]["description"])
        return answer["result"]["value"]

    def errors(self) -> Iterator[str]:
        """Return the errors on the console since the page was opened."""
        for event in self.events:
            params = event["params"]
            if event["method"] == "Runtime.exceptionThrown":
                details = params["exceptionDetails"]
                yield details.get("exception", {}).get("description", details["text"])
            elif event["method"] == "Runtime.consoleAPICalled" and params["type"] == "error":
                yield " ".join(str(one.get("value", one)) for one in params["args"])
            elif event["method"] == "Log.entryAdded" and params["entry"]["level"] == "error":
                yield f"{params['entry']['text']} {params['entry'].get('url', '')}"


@contextmanager
def started(program: str) -> Iterator[Browser]:
    """Start a browser without a window, and end it afterwards."""
    its_commands, commands = os.pipe()
    answers, its_answers = os.pipe()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        process = subprocess.Popen(
            [
                *("bash", "-c", f'exec "$@" 3<&{its_commands} 4>&{its_answers}', "bash", program),
                *("--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"),
                # No page needs a network.
                *("--host-resolver-rules=MAP * ~NOTFOUND", "--remote-debugging-pipe"),
                f"--user-data-dir={profile}",
            ],
            pass_fds=(its_commands, its_answers),
            stderr=subprocess.DEVNULL,
        )
        os.close(its_commands)
        os.close(its_answers)
        try:
            browser = Browser(commands, answers)
            yield browser
            browser.send("Browser.close")
        finally:
            process.terminate()
            process.wait()
            os.close(commands)
            os.close(answers)


def problems_of(
    browser: Browser, page: Path, width: int, theme: str, screenshots: Path | None = None
) -> list[str]:
    """Return what is wrong with a page at one width in one theme."""
    # A window of 390 px is narrower than the system would allow.
    browser.send(
        "Emulation.setDeviceMetricsOverride",
        width=width,
        height=HEIGHT,
        deviceScaleFactor=1,
        mobile=False,
    )
    browser.send(
        "Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": theme}]
    )
    browser.open(page.as_uri())
    found = browser.evaluate(CHECKS)
    if screenshots:
        height = browser.evaluate("document.documentElement.scrollHeight")
        area = {"x": 0, "y": 0, "width": width, "height": min(height, HIGHEST_PICTURE), "scale": 1}
        picture = browser.send("Page.captureScreenshot", captureBeyondViewport=True, clip=area)
        name = f"{page.parent.name}-{page.stem}-{width}-{theme}.png"
        (screenshots / name).write_bytes(base64.b64decode(picture["data"]))
    return [*found, *(f"console: {error}" for error in browser.errors())]


def main() -> int:
    """Print a line for each problem; the exit code is 1 if there is any."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, help="of the built site")
    parser.add_argument("pages", nargs="+", help="relative to the folder")
    parser.add_argument("--screenshots", type=Path, help="folder for a picture of each page")
    given = parser.parse_args()
    program = next(filter(None, map(shutil.which, BROWSERS)), None)
    if program is None:
        print(f"pages are not checked: none of {', '.join(BROWSERS)} is on the path")
        return 0
    if given.screenshots:
        given.screenshots.mkdir(parents=True, exist_ok=True)
    n_problems = 0
    with started(program) as browser:
        for name in given.pages:
            page = (given.folder / name).resolve(strict=True)
            for width in WIDTHS:
                for theme in THEMES:
                    found = problems_of(browser, page, width, theme, given.screenshots)
                    n_problems += len(found)
                    for problem in found:
                        print(f"{name}, {width} px, {theme}: {problem}")
    print(f"{len(given.pages)} pages, {n_problems} problems")
    return 1 if n_problems else 0


if __name__ == "__main__":
    sys.exit(main())
