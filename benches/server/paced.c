/* Asks a DNS server over UDP at a fixed rate and prints how long the answers took.
 *
 * usage: paced PORT QUERIES RATE SECONDS
 * QUERIES has a name and a type a line. Prints: sent, lost, p50, p90, p99, p99.9 and the longest, in microseconds. A query
 * counts from the time at which it was due, so that a server that stands still does not hide behind a client that waits. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

enum { IDS = 65536, LOST_AFTER = 1000000, MOST = 400000 };

static uint8_t *packets[MOST];
static uint16_t lengths[MOST];
static double due[IDS];

static double now_us(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1e6 + t.tv_nsec / 1e3;
}

static int type_of(const char *text) {
    static const struct { const char *text; int type; } types[] = {
        {"A", 1}, {"NS", 2}, {"CNAME", 5}, {"SOA", 6}, {"MX", 15}, {"TXT", 16}, {"AAAA", 28}, {"SRV", 33}};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (!strcmp(text, types[i].text)) return types[i].type;
    return 1;
}

static int read_queries(const char *path) {
    FILE *file = fopen(path, "r");
    if (!file) { perror(path); exit(1); }
    char name[300], type[20];
    int count = 0;
    while (count < MOST && fscanf(file, "%299s %19s", name, type) == 2) {
        uint8_t *packet = calloc(1, 12 + 256 + 4 + 44), *at = packet + 12;
        packet[5] = 1;
        for (char *label = strtok(name, "."); label; label = strtok(NULL, ".")) {
            size_t length = strlen(label);
            *at++ = (uint8_t)length;
            memcpy(at, label, length);
            at += length;
        }
        *at++ = 0;
        *at++ = 0; *at++ = (uint8_t)type_of(type);
        *at++ = 0; *at++ = 1;
        packets[count] = packet;
        lengths[count++] = (uint16_t)(at - packet);
    }
    fclose(file);
    return count;
}

static int by_size(const void *a, const void *b) {
    float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

int main(int argc, char **argv) {
    if (argc != 5) { fprintf(stderr, "usage: paced PORT QUERIES RATE SECONDS\n"); return 2; }
    int count = read_queries(argv[2]);
    double gap = 1e6 / atof(argv[3]), seconds = atof(argv[4]);
    long wanted = (long)(seconds * 1e6 / gap), sent = 0, got = 0;
    float *took = malloc(sizeof *took * (size_t)(wanted + 1));
    int fd = socket(AF_INET, SOCK_DGRAM, 0), room = 4 << 20;
    setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &room, sizeof room);
    fcntl(fd, F_SETFL, O_NONBLOCK);
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(argv[1]))};
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (count == 0 || connect(fd, (struct sockaddr *)&to, sizeof to)) { perror("connect"); return 1; }
    double start = now_us(), end = 0;
    uint8_t reply[4096];
    while (sent < wanted || (got < sent && now_us() < end)) {
        double now = now_us();
        if (sent < wanted && now >= start + sent * gap) {
            uint16_t id = (uint16_t)sent;
            uint8_t *packet = packets[sent % count];
            packet[0] = id >> 8; packet[1] = id & 255;
            due[id] = start + sent * gap;
            if (send(fd, packet, lengths[sent % count], 0) < 0 && errno != EAGAIN && errno != ECONNREFUSED) perror("send");
            sent++;
            end = now + LOST_AFTER;
        }
        ssize_t length;
        while ((length = recv(fd, reply, sizeof reply, 0)) >= 12 && got < wanted) {
            uint16_t id = (uint16_t)(reply[0] << 8 | reply[1]);
            if (due[id] > 0) { took[got++] = (float)(now_us() - due[id]); due[id] = 0; }
        }
    }
    qsort(took, (size_t)got, sizeof *took, by_size);
    if (!got) { puts("no answers"); return 1; }
    printf("sent=%ld lost=%ld p50=%.0f p90=%.0f p99=%.0f p99.9=%.0f max=%.0f\n", sent, sent - got, took[got / 2],
           took[got * 9 / 10], took[got * 99 / 100], took[got * 999 / 1000], took[got - 1]);
    return 0;
}
