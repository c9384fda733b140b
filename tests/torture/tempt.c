/* SPDX-License-Identifier: Apache-2.0
 * The command of these tests, in its working directory: says that it ran, tries what the policy
 * denies, and what it allows in ways that are done on a command's behalf.  The exit code has a bit
 * for each denied attempt that worked; attempts that `tempt free` leaves out are allowed there.
 * `tempt net` uses the network in their place. */
#include "outside.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

static int
works(int result)
{
    return result >= 0;
}

static int
connects(void)
{
    const struct sockaddr_in away = {
        .sin_family = AF_INET,
        .sin_port = htons(9),
        .sin_addr.s_addr = htonl(0xc0000201), /* 192.0.2.1 */
    };

    return works(
            connect(socket(AF_INET, SOCK_DGRAM, 0), (const struct sockaddr *)&away, sizeof away));
}

/* Names that come and go. */
static void
use_names(void)
{
    const struct sockaddr_un own = { .sun_family = AF_UNIX, .sun_path = "socket" };
    int listening = socket(AF_UNIX, SOCK_STREAM, 0);

    (void)!works(mkdir("made", 0700));
    (void)!works(open("made/file", O_CREAT | O_WRONLY, 0600));
    (void)!works(chmod("made/file", 0640));
    (void)!works(truncate("made/file", 10));
    (void)!works(link("made/file", "made/other"));
    (void)!works(rename("made/file", "made/moved"));
    (void)!works(symlink("moved", "made/link"));
    (void)!works(utimensat(AT_FDCWD, "made/moved", NULL, 0));
    (void)!works(unlink("made/link"));
    (void)!works(unlink("made/other"));
    (void)!works(unlink("made/moved"));
    (void)!works(rmdir("made"));
    (void)!works(bind(listening, (const struct sockaddr *)&own, sizeof own));
    (void)!works(listen(listening, 1));
    (void)!works(
            connect(socket(AF_UNIX, SOCK_STREAM, 0), (const struct sockaddr *)&own, sizeof own));
    (void)!works(unlink("socket"));
}

/* ---- the network ---- */
static int
connects_to(uint32_t address, int port)
{
    const struct sockaddr_in in = {
        .sin_family = AF_INET,
        .sin_port = htons((uint16_t)port),
        .sin_addr.s_addr = htonl(address),
    };
    int fd = socket(AF_INET, SOCK_STREAM, 0);

    if (connect(fd, (const struct sockaddr *)&in, sizeof in) < 0) {
        close(fd);
        return -1;
    }
    return fd;
}

/* The proxy's name is in the box's own /etc/hosts.  -1: there is no way out. */
static int
connect_to_proxy(void)
{
    const char *proxy = getenv("HTTP_PROXY");
    char name[64], line[256];
    unsigned int a, b, c, d;
    int port;
    FILE *hosts;

    if (proxy == NULL || sscanf(proxy, "http://%63[^:]:%d", name, &port) != 2) {
        return -1;
    }
    hosts = fopen("/etc/hosts", "re");
    while (hosts != NULL && fgets(line, sizeof line, hosts) != NULL) {
        if (strstr(line, name) != NULL && sscanf(line, "%u.%u.%u.%u", &a, &b, &c, &d) == 4) {
            fclose(hosts);
            return connects_to(a << 24 | b << 16 | c << 8 | d, port);
        }
    }
    return -1;
}

/* Until there is an end, or nothing comes for a while. */
static size_t
exchange(int fd, const void *request, size_t size, char *answer, size_t room)
{
    const struct timeval limit = { .tv_sec = 10 };
    size_t length = 0;
    ssize_t n = 1;

    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    (void)!send(fd, request, size, MSG_NOSIGNAL);
    while (n > 0 && length < room - 1) {
        n = recv(fd, answer + length, room - 1 - length, 0);
        length += n > 0 ? (size_t)n : 0;
        answer[length] = '\0';
        if (strncmp(answer, "HTTP/1.1 200 Connection", 23) == 0 || answer[0] == 0x16) {
            break;
        }
    }
    return length;
}

/* With what stands for the secret; whether an answer shows the secret. */
static int
asks_with_secret(const char *port)
{
    const char *stand_in = getenv("TOK");
    char request[1024], answer[4096] = "";
    int fd = connect_to_proxy();

    if (fd < 0 || stand_in == NULL) {
        return 0;
    }
    snprintf(request, sizeof request,
            "GET http://localhost:%s/ HTTP/1.1\r\nHost: localhost:%s\r\n"
            "Authorization: Bearer %s\r\nConnection: close\r\n\r\n",
            port, port, stand_in);
    exchange(fd, request, strlen(request), answer, sizeof answer);
    close(fd);
    if (strstr(answer, "200 OK") != NULL && strstr(answer, stand_in) != NULL) {
        (void)!works(open("answered", O_CREAT | O_WRONLY, 0600));
    }
    return strstr(answer, OUTSIDE_SECRET) != NULL;
}

/* As far as the server's certificate, which is made for it. */
static void
greet(const char *port)
{
    static char hello[4096], answer[8192], request[128];
    int fd = connect_to_proxy(), file = open(HELLO, O_RDONLY);
    ssize_t size = read(file, hello, sizeof hello);

    if (fd < 0 || size <= 0) {
        return;
    }
    snprintf(request, sizeof request, "CONNECT localhost:%s HTTP/1.1\r\nHost: localhost:%s\r\n\r\n",
            port, port);
    exchange(fd, request, strlen(request), answer, sizeof answer);
    answer[0] = '\0';
    if (exchange(fd, hello, (size_t)size, answer, sizeof answer) > 0 && answer[0] == 0x16) {
        (void)!works(open("greeted", O_CREAT | O_WRONLY, 0600));
    }
    close(fd);
}

int
main(int argc, char **argv)
{
    const int is_net = argc > 2 && strcmp(argv[1], "net") == 0;
    const int is_free = is_net || (argc > 1 && strcmp(argv[1], "free") == 0);
    int code = 0;

    (void)!works(open("ran", O_CREAT | O_WRONLY, 0600));
    (void)!write(1, "ran\n", 4);
    code |= works(open("../outside", O_CREAT | O_WRONLY, 0600)) << 0;
    code |= works(socket(AF_PACKET, SOCK_RAW, 0)) << 1;
    code |= (is_net ? 0 : connects()) << 2; /* a datagram is denied when it is sent there */
    if (is_net) {
        code |= works(connects_to(0xc0000201, 9)) << 6;
        code |= asks_with_secret(argv[2]) << 7;
        greet(argv[2]);
    }
    if (!is_free) {
        code |= works(open("secret", O_RDONLY)) << 3;
        code |= works(open("lock", O_CREAT | O_WRONLY, 0600)) << 4;
        code |= works(rename("kept", "moved")) << 5;
        (void)!works(open("ask", O_CREAT | O_WRONLY, 0600)); /* somebody says yes */
        (void)!works(open("asked", O_RDONLY));
        use_names();
    }
    return code;
}
