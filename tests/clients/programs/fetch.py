# SPDX-License-Identifier: Apache-2.0
"""GETs each URL, or POSTs to those after the word POST: fetch.py urllib|requests|httpx|httpx_plain|asyncio URL...; prints "STATUS BODY" or the error.

TOKEN of the environment goes along as a bearer."""
import asyncio
import os
import sys

method = "GET"
fields = {"Authorization": "Bearer " + os.environ["TOKEN"]} if "TOKEN" in os.environ else {}


def by_urllib(url):
    import urllib.error
    import urllib.request
    try:
        with urllib.request.urlopen(urllib.request.Request(url, method=method, headers=fields), timeout=20) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


def by_requests(url):
    import requests
    answer = requests.request(method, url, headers=fields, timeout=20)
    return answer.status_code, answer.text


def by_httpx(url):
    import ssl

    import httpx
    answer = httpx.request(method, url, headers=fields, timeout=20, trust_env=False, verify=ssl.create_default_context())
    return answer.status_code, answer.text


def by_httpx_plain(url):
    import httpx
    answer = httpx.request(method, url, headers=fields, timeout=20)
    return answer.status_code, answer.text


def by_asyncio(url):
    async def get():
        host, _, path = url.partition("://")[2].partition("/")
        name, _, port = host.partition(":")
        reader, writer = await asyncio.wait_for(asyncio.open_connection(name, int(port or 80)), 20)
        writer.write(f"GET /{path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n".encode())
        head, _, body = (await asyncio.wait_for(reader.read(), 20)).partition(b"\r\n\r\n")
        return int(head.split()[1]), body.decode()
    return asyncio.run(get())


for address in sys.argv[2:]:
    if ":" not in address:
        method = address
        continue
    try:
        print(*globals()["by_" + sys.argv[1]](address))
    except Exception as error:
        print("error:", type(error).__name__, error)
        sys.exit(1)
