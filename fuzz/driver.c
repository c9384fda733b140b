/* SPDX-License-Identifier: Apache-2.0
 * Runs a fuzz target over its corpus, as a test: every file given, and every file in a folder
 * given. */
#include <dirent.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool
run_file(const char *path)
{
    FILE *file = fopen(path, "rb");
    struct stat status;
    uint8_t *data;
    size_t size;

    if (file == NULL || fstat(fileno(file), &status) != 0) {
        perror(path);
        return false;
    }
    size = (size_t)status.st_size;
    data = malloc(size == 0 ? 1 : size); /* exactly as large, so that a sanitizer sees the end */
    if (data == NULL || fread(data, 1, size, file) != size) {
        perror(path);
        return false;
    }
    fclose(file);
    LLVMFuzzerTestOneInput(data, size);
    free(data);
    return true;
}

static int
run_folder(const char *path)
{
    DIR *folder = opendir(path);
    const struct dirent *entry;
    char file[4096];
    int count = 0;

    if (folder == NULL) {
        return run_file(path) ? 1 : -1;
    }
    while ((entry = readdir(folder)) != NULL) {
        snprintf(file, sizeof file, "%s/%s", path, entry->d_name);
        if (entry->d_name[0] != '.') {
            if (!run_file(file)) {
                count = -1;
                break;
            }
            count++;
        }
    }
    closedir(folder);
    return count;
}

int
main(int argc, char **argv)
{
    int total = 0;

    for (int i = 1; i < argc; i++) {
        int count = run_folder(argv[i]);

        if (count <= 0) {
            fprintf(stderr, "%s: nothing to run\n", argv[i]);
            return EXIT_FAILURE;
        }
        total += count;
    }
    printf("%d inputs\n", total);
    return total > 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
