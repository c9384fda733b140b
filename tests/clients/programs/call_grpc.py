# SPDX-License-Identifier: Apache-2.0
"""One unary gRPC call over HTTP/2: call_grpc.py HOST:PORT [CA.pem]; prints the answer or the code."""
import sys

import grpc

channel = (grpc.secure_channel(sys.argv[1], grpc.ssl_channel_credentials(open(sys.argv[2], "rb").read()))
           if len(sys.argv) > 2 else grpc.insecure_channel(sys.argv[1]))
call = channel.unary_unary("/lab.Echo/Say")
try:
    print("answer", call(b"hello", timeout=20).decode())
except grpc.RpcError as error:
    print("error:", error.code().name, error.details())
    sys.exit(1)
