// SPDX-License-Identifier: Apache-2.0
// How Node's server understands connections of HTTP.  Input and output as read_http.c has them; the
// last line of a connection is "end" or "refused CODE".
'use strict';
const http = require('http');
const fs = require('fs');
const { Duplex } = require('stream');

const hex = (bytes) => (bytes.length ? bytes.toString('hex') : '-');
const latin = (text) => hex(Buffer.from(text, 'latin1'));

function* connections(input) {
  for (let at = 0; at < input.length;) {
    const end = input.indexOf(10, at);
    const length = Number(input.toString('latin1', at, end));
    yield input.subarray(end + 1, end + 1 + length);
    at = end + 1 + length;
  }
}

const connectionOf = new WeakMap();
const server = http.createServer({ keepAliveTimeout: 60000 }, (request, response) => {
  const one = { request, body: [] };
  connectionOf.get(request.socket).requests.push(one);
  request.on('data', (piece) => one.body.push(piece));
  request.on('end', () => response.end());
  request.on('error', () => {});
});
server.on('clientError', (error, socket) => {
  const connection = connectionOf.get(socket);
  connection.refused = connection.refused || error.code || 'error';
  socket.destroy();
});

// A connection that is there at once and as a whole, and throws away what is answered.
function feed(bytes) {
  return new Promise((resolve) => {
    const connection = { requests: [], refused: null };
    const stream = new Duplex({ read() {}, write(piece, encoding, done) { done(); } });
    connectionOf.set(stream, connection);
    stream.on('error', () => {});
    stream.on('close', () => resolve(connection));
    server.emit('connection', stream);
    stream.push(bytes);
    stream.push(null);
  });
}

async function main() {
  const out = [];
  for (const bytes of connections(fs.readFileSync(0))) {
    const { requests, refused } = await feed(bytes);
    for (const { request, body } of requests) {
      out.push(['request', latin(request.method), latin(request.url), hex(Buffer.concat(body)), request.complete ? 1 : 0,
        ...request.rawHeaders.map(latin)].join(' '));
    }
    out.push(refused ? `refused ${refused}` : 'end');
  }
  process.stdout.write(out.join('\n') + '\n', () => process.exit(0));
}

main();
