// SPDX-License-Identifier: Apache-2.0
// GETs each URL with Node's own fetch; prints "STATUS BODY" or the error with its cause.
for (const url of process.argv.slice(2)) {
  try {
    const answer = await fetch(url, { signal: AbortSignal.timeout(20000) });
    console.log(answer.status, await answer.text());
  } catch (error) {
    console.log("error:", error.message, error.cause?.code ?? "");
    process.exit(1);
  }
}
