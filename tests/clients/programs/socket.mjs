// SPDX-License-Identifier: Apache-2.0
// Sends one message over a WebSocket (the ws package) and prints the echo, or the error.
import WebSocket from "ws";
const socket = new WebSocket(process.argv[2]);
socket.on("open", () => socket.send("ping"));
socket.on("message", (data) => { console.log("echo", String(data)); socket.close(); });
socket.on("error", (error) => { console.log("error:", error.message); process.exit(1); });
