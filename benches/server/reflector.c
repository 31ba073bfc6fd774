/* The kernel's own limit: sends every datagram back with QR and AA set, up to 64 in a system call, and knows no DNS.
 * usage: reflector PORT */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <stdlib.h>
#include <sys/socket.h>

enum { BATCH = 64, OCTETS = 2048, BUFFER = 4 << 20 };

static unsigned char octets[BATCH][OCTETS];
static struct sockaddr_in peers[BATCH];
static struct iovec vectors[BATCH];
static struct mmsghdr messages[BATCH];

int main(int count, char **arguments) {
    if (count != 2)
        return 2;
    struct sockaddr_in own = {.sin_family = AF_INET, .sin_port = htons(atoi(arguments[1]))};
    own.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int descriptor = socket(AF_INET, SOCK_DGRAM, 0), size = BUFFER;
    setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &size, sizeof size);
    setsockopt(descriptor, SOL_SOCKET, SO_SNDBUF, &size, sizeof size);
    if (bind(descriptor, (struct sockaddr *)&own, sizeof own) != 0)
        return 1;
    for (int at = 0; at < BATCH; at++) {
        vectors[at].iov_base = octets[at];
        messages[at].msg_hdr.msg_iov = &vectors[at];
        messages[at].msg_hdr.msg_iovlen = 1;
        messages[at].msg_hdr.msg_name = &peers[at];
    }
    for (;;) {
        for (int at = 0; at < BATCH; at++) {
            vectors[at].iov_len = OCTETS;
            messages[at].msg_hdr.msg_namelen = sizeof peers[at];
        }
        int received = recvmmsg(descriptor, messages, BATCH, MSG_WAITFORONE, NULL);
        for (int at = 0; at < received; at++) {
            octets[at][2] |= 0x84;
            vectors[at].iov_len = messages[at].msg_len;
        }
        for (int sent = 0; sent < received;) {
            int more = sendmmsg(descriptor, messages + sent, received - sent, 0);
            sent += more > 0 ? more : 1;
        }
    }
}
