/* SPDX-License-Identifier: Apache-2.0
 * A network outside for tests of real boxes: every name is at 8.8.8.8, and what is there is this
 * host's loopback.  Stands before libc's getaddrinfo and connect. */
#include <arpa/inet.h>
#include <netdb.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

static struct sockaddr_in public_address = { .sin_family = AF_INET };

int
getaddrinfo(const char *node, const char *service, const struct addrinfo *hints,
        struct addrinfo **ret_list)
{
    struct addrinfo *info = calloc(1, sizeof *info);

    public_address.sin_addr.s_addr = htonl(0x08080808);
    public_address.sin_port = htons((uint16_t)atoi(service));
    *info = (struct addrinfo){ .ai_family = AF_INET,
        .ai_socktype = SOCK_STREAM,
        .ai_addr = (struct sockaddr *)&public_address,
        .ai_addrlen = sizeof public_address };
    *ret_list = info;
    return 0;
}

void
freeaddrinfo(struct addrinfo *list)
{
    free(list);
}

int
connect(int fd, const struct sockaddr *address, socklen_t length)
{
    struct sockaddr_in in;

    if (address->sa_family == AF_INET) {
        memcpy(&in, address, sizeof in);
        if (in.sin_addr.s_addr == htonl(0x08080808)) {
            in.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        }
        address = (const struct sockaddr *)&in;
        length = sizeof in;
    }
    return (int)syscall(SYS_connect, fd, address, length);
}
