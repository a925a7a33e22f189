"""Makes pages: one HTML file from a template, a style sheet and a script, complete in itself.

A page loads nothing: its content security policy forbids all network access, and allows only its own style sheet and
script, by their digests. A page is readable without the script. Equal contexts give equal bytes.
"""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from importlib.resources import files
from typing import Any

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from holdfast.ir.printable import printable


def document(package: str, name: str, **context: Any) -> str:
    """A page as HTML text.

    ``package`` has the template NAME.html.jinja, which extends ``base.html.jinja``; the style sheet NAME.css; and, if
    the page has a script of its own, NAME.js. Both are added to what all pages have. ``context``: the values of the
    template. Texts are escaped, and control characters are shown.
    """
    css, js = (_part(__package__, f"base.{kind}") + _part(package, f"{name}.{kind}") for kind in ("css", "js"))
    page = (
        _environment(package)
        .get_template(f"{name}.html.jinja")
        .render(
            **context,
            policy=_policy(css, js),
            css=Markup(css),  # noqa: S704 - a file of this repository
            js=Markup(js),  # noqa: S704 - as above
        )
    )
    return printable(page)


def drawing(svg: str, style: str = "") -> Markup:
    """A diagram to stand within a page, without its style sheet ``style``: the page has colours of its own for it.

    The diagram's texts are escaped already.
    """
    return Markup(svg.replace(f"<style>\n{style}</style>\n", "", 1))  # noqa: S704


@cache
def _environment(package: str) -> Environment:
    return Environment(
        loader=ChoiceLoader([PackageLoader(package, ""), PackageLoader(__package__, "")]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )


def _part(package: str, name: str) -> str:
    file = files(package).joinpath(name)
    return file.read_text(encoding="utf-8") if file.is_file() else ""


def _policy(css: str, js: str) -> str:
    """The content security policy: it allows only this style sheet and this script, and images in ``data:`` addresses.

    The page has an empty icon as such an image, so that a browser does not request an icon.
    """
    return (
        f"default-src 'none'; style-src '{_digest(css)}'; script-src '{_digest(js)}'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )


def _digest(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"
