"""Does with a console and a browser what a user would; fails at the first thing that is not as promised.

  browser.py BRUNT ARGUMENTS-OF-RUN...

in a folder with watched.toml. Chromium is that of the system. With PICTURES=DIR it leaves pictures there.
"""

import json
import os
import pathlib
import signal
import subprocess
import sys

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import sync_playwright

BRUNT, ARGUMENTS = sys.argv[1], sys.argv[2:]
PICTURES = os.environ.get("PICTURES")
TOKEN = "0123456789abcdef0123456789abcdef"
# A busy machine is slow; nothing depends on how long it takes.
PATIENCE = 60_000


def console(listen):
    """A console, and its address without the token."""
    started = subprocess.Popen(
        [BRUNT, "console", "--no-browser", "--token-file", "token", "--listen", listen],
        stdout=subprocess.PIPE, text=True)
    address, token = started.stdout.readline().strip().split("/?token=")
    assert token == TOKEN
    return started, address


def accessible(page, where):
    found = Axe().run(page).response["violations"]
    assert not found, f"{where}: " + "; ".join(f"{one['id']}: {one['nodes'][0]['html'][:200]}" for one in found)


def picture(page, name):
    if PICTURES:
        page.screenshot(path=f"{PICTURES}/{name}.png", full_page=True)


def every_size(page, where):
    for width in (80, 400, 1280, 2560):
        page.set_viewport_size({"width": width, "height": 800})
        wide = page.evaluate("document.documentElement.scrollWidth")
        # A phone is the narrowest that pages are made for; below, they scroll.
        assert wide <= max(width, 400), f"{where}: {wide} px wide on a screen of {width}"
    for scheme in ("dark", "light"):
        page.emulate_media(color_scheme=scheme)
        accessible(page, f"{where}, {scheme}")
    page.emulate_media(media="print")
    assert page.locator(".choice").first.is_hidden() if page.locator(".choice").count() else True
    page.emulate_media(media="screen")
    page.set_viewport_size({"width": 1280, "height": 800})


def watch(page, address):
    page.goto(f"{address}/?token={TOKEN}")
    assert page.url == f"{address}/", page.url
    page.get_by_text("There is none yet").wait_for()
    run = subprocess.Popen([BRUNT, "run", "watched.toml", "--quiet", *ARGUMENTS], stdout=subprocess.DEVNULL)
    # It appears without a reload.
    link = page.get_by_role("link", name="watched")
    link.wait_for(timeout=PATIENCE)
    every_size(page, "list")
    picture(page, "list")
    link.click()
    page.locator("h1", has_text="RUNNING").wait_for(timeout=PATIENCE)
    page.locator("section.pictures svg[data-x]").first.wait_for(timeout=PATIENCE)
    every_size(page, "run")
    picture(page, "running")
    return run


def zoom_and_choose(page):
    """With the keyboard alone, then by dragging."""
    page.get_by_label("Pictures of").focus()
    page.keyboard.type("DB2")
    page.keyboard.press("Tab")
    page.keyboard.type("0:02")
    page.keyboard.press("Tab")
    page.keyboard.type("20s")
    page.keyboard.press("Enter")
    page.get_by_text("Shown: DB2, 2").wait_for(timeout=PATIENCE)
    picture(page, "chosen")
    page.get_by_role("link", name="Show everything").click()
    page.locator("section.pictures svg[data-x]").first.wait_for(timeout=PATIENCE)
    svg = page.locator("section.pictures svg[data-x]").first
    svg.scroll_into_view_if_needed()
    box = svg.bounding_box()
    page.mouse.move(box["x"] + box["width"] * 0.3, box["y"] + box["height"] / 2)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * 0.6, box["y"] + box["height"] / 2, steps=4)
    page.mouse.up()
    page.locator(".note", has_text="Shown: ").wait_for(timeout=PATIENCE)


def main():
    pathlib.Path("token").touch(mode=0o600)
    pathlib.Path("token").write_text(TOKEN)
    os.mkdir("runs")
    shown, address = console("127.0.0.1:0")
    run = None
    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path="/usr/bin/chromium", args=["--no-sandbox"])
        page = browser.new_page()
        refused = []
        page.on("console", lambda said: refused.append(said.text) if "Content Security" in said.text else None)
        page.on("pageerror", lambda error: refused.append(str(error)))
        try:
            run = watch(page, address)
            # The console is killed, and comes back: the page says so, and goes on by itself.
            shown.send_signal(signal.SIGKILL)
            shown.wait()
            page.locator(".unheard").wait_for(state="visible", timeout=PATIENCE)
            shown, address = console(address.removeprefix("http://"))
            page.locator(".unheard").wait_for(state="hidden", timeout=PATIENCE)
            page.reload()
            # What is written into the form stays, whatever the run does meanwhile.
            page.get_by_label("from").fill("7s")
            run.wait()
            # What a busy machine makes of the test is not judged.
            folder, = pathlib.Path("runs").iterdir()
            verdict = json.loads((folder / "result.json").read_text())["verdict"]
            page.locator("h1", has_text=verdict.upper()).wait_for(timeout=PATIENCE)
            assert page.get_by_label("from").input_value() == "7s"
            page.get_by_label("from").fill("")
            zoom_and_choose(page)
            with page.expect_download() as saved:
                page.get_by_role("link", name="Save the report").click()
            written = (folder / "report.html").read_bytes()
            assert pathlib.Path(saved.value.path()).read_bytes() == written, "what is saved is not the report"
            page.get_by_role("link", name="History").click()
            page.get_by_text("1 run did the same work").wait_for(timeout=PATIENCE)
            accessible(page, "history")
            # Script is off: the page is whole.
            plain = browser.new_context(java_script_enabled=False).new_page()
            plain.goto(f"{address}/?token={TOKEN}")
            plain.get_by_role("link", name="watched").click()
            assert plain.locator("section.pictures svg[data-x]").count() == 4
            plain.get_by_label("Pictures of").select_option("DB2")
            plain.get_by_role("button", name="Show").click()
            plain.get_by_text("Shown: DB2").wait_for()
        finally:
            browser.close()
            shown.kill()
            if run:
                run.kill()
    assert not refused, refused


if __name__ == "__main__":
    main()
