/* SPDX-License-Identifier: Apache-2.0 */
#include "outside.h"

#include <check.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

static pid_t server;

static void
answer(int fd)
{
    static char request[16384];
    char head[128];
    size_t length = 0;
    ssize_t n = 1;

    request[0] = '\0';
    while (n > 0 && length < sizeof request - 1 && strstr(request, "\r\n\r\n") == NULL) {
        n = recv(fd, request + length, sizeof request - 1 - length, 0);
        length += n > 0 ? (size_t)n : 0;
        request[length] = '\0';
    }
    if (strstr(request, OUTSIDE_SECRET) == NULL) {
        return; /* whoever asks without it has no answer */
    }
    n = snprintf(head, sizeof head, "HTTP/1.1 200 OK\r\nContent-Length: %zu\r\n\r\n", length);
    send(fd, head, (size_t)n, MSG_NOSIGNAL);
    send(fd, request, length, MSG_NOSIGNAL);
}

static _Noreturn void
serve(int listener)
{
    int fd;

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    while ((fd = accept(listener, NULL, NULL)) >= 0) {
        answer(fd);
        close(fd);
    }
    _exit(1);
}

uint16_t
outside_start(void)
{
    struct sockaddr_in address = { .sin_family = AF_INET,
        .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t size = sizeof address;
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    ck_assert_int_eq(bind(listener, (struct sockaddr *)&address, size), 0);
    ck_assert_int_eq(listen(listener, 64), 0);
    ck_assert_int_eq(getsockname(listener, (struct sockaddr *)&address, &size), 0);
    server = fork();
    ck_assert_int_ge(server, 0);
    if (server == 0) {
        serve(listener);
    }
    close(listener);
    return ntohs(address.sin_port);
}

void
outside_stop(void)
{
    kill(server, SIGKILL);
    waitpid(server, NULL, 0);
}
