/* SPDX-License-Identifier: Apache-2.0
 * The command of these tests: says that it ran, then tries what the policy denies, in its working
 * directory.  The exit code has a bit for each attempt that worked. */
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

static int
works(int result)
{
    return result >= 0;
}

int
main(void)
{
    const struct sockaddr_in away = {
        .sin_family = AF_INET,
        .sin_port = htons(9),
        .sin_addr.s_addr = htonl(0xc0000201), /* 192.0.2.1 */
    };
    int code = 0;

    (void)!works(open("ran", O_CREAT | O_WRONLY, 0600));
    (void)!write(1, "ran\n", 4);
    code |= works(open("secret", O_RDONLY)) << 0;
    code |= works(open("lock", O_CREAT | O_WRONLY, 0600)) << 1;
    code |= works(open("../outside", O_CREAT | O_WRONLY, 0600)) << 2;
    code |= works(rename("kept", "moved")) << 3;
    code |= works(socket(AF_PACKET, SOCK_RAW, 0)) << 4;
    code |= works(connect(
                    socket(AF_INET, SOCK_DGRAM, 0), (const struct sockaddr *)&away, sizeof away))
            << 5;
    (void)!works(open("ask", O_CREAT | O_WRONLY, 0600)); /* somebody says yes */
    return code;
}
