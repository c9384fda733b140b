// SPDX-License-Identifier: Apache-2.0
// GETs each URL with Node's own fetch, or POSTs to those after the word POST; prints "STATUS BODY" or the error with its cause.
let method = "GET";
for (const url of process.argv.slice(2)) {
  if (!url.includes(":")) {
    method = url;
    continue;
  }
  try {
    const answer = await fetch(url, { method, signal: AbortSignal.timeout(20000) });
    console.log(answer.status, await answer.text());
  } catch (error) {
    console.log("error:", error.message, error.cause?.code ?? "");
    process.exit(1);
  }
}
