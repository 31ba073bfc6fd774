package main

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

var (
	binary, folder        string
	serverHTTP, serverDNS string
	server                *exec.Cmd
	proxies               []*exec.Cmd
)

// start runs the server in a folder of its own, on ports that the system chose.
func start(path string) {
	var err error
	binary, err = filepath.Abs(path)
	must("the binary", err)
	folder, err = os.MkdirTemp("", "tenured-externaldns-")
	must("a folder", err)
	serverDNS, serverHTTP = "127.0.0.1:0", "127.0.0.1:0"
	restart()
}

// restart runs it where it was before.
func restart() {
	server = exec.Command(binary, "serve", "--dns", serverDNS, "--http", serverHTTP)
	found := launch(server, "dns", "http", "try")
	serverDNS, serverHTTP = found["dns"], strings.TrimPrefix(found["http"], "http://")
}

// kill ends the server as a crash would.
func kill() {
	must("kill", server.Process.Kill())
	_ = server.Wait()
	server = nil
}

// proxy runs a sidecar and gives its address.
func proxy(token, owner string) string {
	file := filepath.Join(folder, "token-"+strconv.Itoa(len(proxies)))
	must("a token file", os.WriteFile(file, []byte(token), 0o600))
	command := exec.Command(binary, "webhook-proxy", "--url", "http://"+serverHTTP+"/externaldns/"+owner,
		"--token-file", file, "--listen", "127.0.0.1:0", "--health", "127.0.0.1:0")
	found := launch(command, "proxy", "health")
	proxies = append(proxies, command)
	return strings.TrimPrefix(found["proxy"], "http://")
}

// launch starts a process and reads what it prints until all these words began a line.
func launch(command *exec.Cmd, words ...string) map[string]string {
	command.Dir = folder
	output, err := command.StdoutPipe()
	must("a pipe", err)
	must("start", command.Start())
	found := map[string]string{}
	lines := bufio.NewScanner(output)
	for len(found) < len(words) && lines.Scan() {
		fields := strings.Fields(lines.Text())
		for _, word := range words {
			if len(fields) > 1 && fields[0] == word {
				found[word] = fields[1]
			}
		}
	}
	if len(found) < len(words) {
		fail("%v said only %v", command.Args, found)
	}
	go func() {
		for lines.Scan() {
		}
	}()
	return found
}

func adminToken() string {
	text, err := os.ReadFile(filepath.Join(folder, "tenured.db.token"))
	must("the token file", err)
	return strings.TrimSpace(string(text))
}

// stopAll ends what was started here.
func stopAll() {
	for _, command := range append(proxies, server) {
		if command != nil && command.Process != nil {
			_ = command.Process.Kill()
			_ = command.Wait()
		}
	}
	_ = os.RemoveAll(folder)
}
