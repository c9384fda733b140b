/* SPDX-License-Identifier: Apache-2.0 */
#include "base/path.h"

#include "base/str.h"

#include <string.h>

bool
path_is_below(const char *path, const char *directory)
{
    size_t length = strlen(directory);

    if (length == 1) {
        return path[1] != '\0';
    }
    return strncmp(path, directory, length) == 0 && path[length] == '/';
}

bool
path_is_within(const char *path, const char *directory)
{
    size_t length = strlen(directory);

    if (length == 1) {
        return path[0] == '/';
    }
    return strncmp(path, directory, length) == 0 && (path[length] == '/' || path[length] == '\0');
}

char *
path_parent(const char *path)
{
    const char *slash = strrchr(path, '/');
    struct str parent = { 0 };

    if (slash == NULL || slash == path) {
        str_add(&parent, "/");
    } else {
        str_add_bytes(&parent, path, (size_t)(slash - path));
    }
    return str_steal(&parent, NULL);
}

char *
path_join(const char *directory, const char *name)
{
    struct str path = { 0 };

    str_add(&path, strcmp(directory, "/") == 0 ? "" : directory);
    str_add(&path, "/");
    str_add(&path, name);
    return str_steal(&path, NULL);
}
