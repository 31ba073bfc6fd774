// The page in headless Chromium: page.js BINARY FOLDER ZONES. With SHOTS=FOLDER it leaves pictures of each view there.
"use strict";

const { spawn } = require("node:child_process");
const fs = require("node:fs");
const net = require("node:net");
const path = require("node:path");
const dgram = require("node:dgram");
const { chromium } = require("playwright-core");
const axe = fs.readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");

const [binary, work, zones] = process.argv.slice(2);
const VIEWS = ["/ui", "/ui/overview", "/ui/zones", "/ui/records", "/ui/owners", "/ui/findings", "/ui/alias", "/ui/history"];
let passed = 0;

function check(what, holds) {
  if (!holds) throw new Error(what);
  passed += 1;
}

function free() {
  return new Promise((resolve) => {
    const tcp = net.createServer().listen(0, "127.0.0.1", () => {
      const port = tcp.address().port;
      const udp = dgram.createSocket("udp4");
      udp.once("error", () => tcp.close(() => resolve(free())));
      udp.bind(port, "127.0.0.1", () => udp.close(() => tcp.close(() => resolve(port))));
    });
  });
}

/// A server of its own folder. `stop` ends it.
async function serve(name, flags) {
  const folder = path.join(work, name);
  fs.mkdirSync(folder);
  const [dns, http] = [await free(), await free()];
  const log = fs.openSync(path.join(folder, "log"), "w");
  const args = ["serve", "--dns", `127.0.0.1:${dns}`, "--http", `127.0.0.1:${http}`, ...flags];
  const child = spawn(binary, args, { cwd: folder, stdio: ["ignore", log, log] });
  const ended = new Promise((resolve) => child.once("exit", resolve));
  const url = `http://127.0.0.1:${http}`;
  const stop = () => { child.kill("SIGINT"); return ended; };
  for (let tries = 0; ; tries += 1) {
    const ready = await fetch(`${url}/readyz`).then((answer) => answer.ok, () => false);
    if (ready) break;
    if (tries > 300 || child.exitCode !== null) throw new Error(`${name}: no start: ${fs.readFileSync(path.join(folder, "log"))}`);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  const token = fs.readFileSync(path.join(folder, "tenured.db.token"), "utf8").trim();
  const api = async (method, route, body) => {
    const answer = await fetch(url + route, { method, headers: { authorization: `Bearer ${token}` }, body: body && JSON.stringify(body) });
    const text = await answer.text();
    return { status: answer.status, body: text ? JSON.parse(text) : null };
  };
  return { url, token, folder, dns, api, stop };
}

/// Asks the server: the response code.
function dig(server, name, type) {
  const labels = name.split(".").filter(Boolean).map((label) => Buffer.concat([Buffer.from([label.length]), Buffer.from(label)]));
  const query = Buffer.concat([Buffer.from("123401000001000000000000", "hex"), ...labels, Buffer.from([0, 0, type, 0, 1])]);
  return new Promise((resolve, reject) => {
    const socket = dgram.createSocket("udp4");
    const timer = setTimeout(() => { socket.close(); reject(new Error(`no answer for ${name}`)); }, 5000);
    socket.once("message", (reply) => {
      clearTimeout(timer);
      socket.close();
      resolve({ rcode: reply[3] & 15, answers: reply.readUInt16BE(6) });
    });
    socket.send(query, server.dns, "127.0.0.1");
  });
}

/// A page whose faults are noted: what the policy forbade, what failed, what the console says.
async function open(browser, options) {
  const context = await browser.newContext(options);
  const page = await context.newPage();
  page.faults = [];
  page.on("pageerror", (error) => page.faults.push(String(error)));
  page.on("console", (line) => {
    if (line.type() === "error" && !/status of (401|403|404|409|503)/.test(line.text())) page.faults.push(line.text());
  });
  page.on("request", (request) => {
    if (!request.url().startsWith("http://127.0.0.1:")) page.faults.push(`left the machine: ${request.url()}`);
  });
  return page;
}

async function signIn(page, server, token = server.token) {
  await page.goto(`${server.url}/ui/sign-in`);
  await page.fill("#token", token);
  await page.click("main button");
  await page.waitForURL(`${server.url}/ui`);
}

async function accessible(page, what) {
  // By the debugging protocol, which the policy of the page does not bind.
  await page.evaluate(axe);
  const found = await page.evaluate(() => axe.run(document, { runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"] }));
  const faults = found.violations.map((one) => `${one.id}: ${one.nodes.map((node) => node.html).slice(0, 3).join(" | ")}`);
  check(`${what}: ${faults.join("\n")}`, faults.length === 0);
}

async function shot(page, name) {
  if (process.env.SHOTS) await page.screenshot({ path: path.join(process.env.SHOTS, `${name}.png`), fullPage: true });
}

/// Each view: it is there, accessible, no wider than its window, and nothing failed on the way.
async function views(browser, server, name, { token = server.token, axe: checks = true } = {}) {
  for (const scheme of ["light", "dark"]) {
    for (const width of [1280, 390]) {
      const page = await open(browser, { colorScheme: scheme, viewport: { width, height: 860 } });
      if (token) await signIn(page, server, token);
      for (const view of [...VIEWS, "/ui?name=example.com", ...(token ? ["/ui/records/edit"] : [])]) {
        const answer = await page.goto(server.url + view);
        const what = `${name} ${view} ${scheme} ${width}`;
        check(`${what}: ${answer.status()}`, answer.status() === 200);
        check(`${what}: a title`, (await page.locator("h1").count()) === 1);
        const over = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
        check(`${what}: ${over} wider than the window`, over <= 0);
        if (checks) await accessible(page, what);
        await shot(page, `${name}${view.replaceAll(/[/?=.]/g, "-")}-${scheme}-${width}`);
      }
      check(`${name}: ${page.faults.join("; ")}`, page.faults.length === 0);
      await page.context().close();
    }
  }
}

/// A button of the first row that has a text.
function button(page, row, label) {
  return page.locator("tr, .note, li", { hasText: row }).locator("button", { hasText: label }).first();
}

async function incidentA(browser, server) {
  const shop = "k8s:prod/Gateway/shop/web";
  await server.api("PUT", "/v1/owners/proxies/records", { records: [{ name: "edge-7f3a.example.com.", type: "A", values: ["192.0.2.10"] }] });
  await server.api("PUT", `/v1/owners/${encodeURIComponent(shop)}/records`, {
    kind: "Gateway", parent: "k8s:prod/HTTPProxy/shop/web",
    records: [{ name: "pay.example.com.", type: "ALIAS", ttl: 60, values: ["edge-7f3a.example.com."] }],
  });
  await server.api("PUT", "/v1/owners/proxies/records?maxDeletes=10", { records: [] });
  const page = await open(browser, {});
  await signIn(page, server);
  await page.click("nav >> text=Overview");
  await page.locator("section", { hasText: "Unhealthy ALIAS targets" }).locator("text=pay.example.com.").click();
  const text = await page.textContent("main");
  check("A: the target's state is named", text.includes("TargetNXDomain"));
  check("A: the owner and its parents are named", text.includes(shop) && text.includes("k8s:prod/HTTPProxy/shop/web"));
  await shot(page, "incident-a");
  await page.locator("section", { hasText: "The owner" }).locator("text=k8s:prod/HTTPProxy/shop/web").click();
  await page.click("main button.danger");
  check("A: the plan names the record", (await page.textContent("main")).includes("pay.example.com."));
  check("A: the plan changes nothing", (await server.api("GET", "/v1/records?name=pay.example.com.")).body.items.length === 1);
  await shot(page, "incident-a-plan");
  await page.click("text=Do it");
  await page.waitForSelector("text=It is stored, and served.");
  check("A: the name is gone", (await dig(server, "pay.example.com", 1)).rcode === 3);
  check(`A: ${page.faults.join("; ")}`, page.faults.length === 0);
  await page.context().close();
}

async function incidentB(browser, server) {
  const held = { name: "gate.example.com.", type: "AAAA", values: ["2001:db8::1"] };
  await server.api("PATCH", "/v1/owners/zone%3Aexample.com./records", { upsert: [held] });
  for (let round = 0; round < 6; round += 1) {
    const mine = { name: "gate.example.com.", type: "TXT", values: ["heritage"] };
    await server.api("PATCH", "/v1/owners/external-dns/records", { upsert: [mine] });
    await server.api("PATCH", "/v1/owners/external-dns/records", { delete: [{ name: mine.name, type: mine.type }] });
  }
  await server.api("PATCH", "/v1/owners/external-dns/records", {
    upsert: [{ ...held, values: ["2001:db8::2"] }, { name: "gate.example.com.", type: "A", values: ["192.0.2.2"] }],
  });
  check("B: the A record is not held up", (await dig(server, "gate.example.com", 1)).answers === 1);
  const page = await open(browser, {});
  await signIn(page, server);
  await page.click("nav >> text=History");
  await page.waitForSelector("svg.rhythm");
  check("B: the loop has a rhythm", (await page.locator("svg.rhythm circle").count()) >= 6);
  await shot(page, "incident-b-rhythm");
  await page.click("nav >> text=Conflicts");
  const row = page.locator("tr", { hasText: "external-dns" });
  check("B: the holder is named", (await row.textContent()).includes("zone:example.com."));
  await row.locator("button", { hasText: "Transfer" }).click();
  await shot(page, "incident-b-plan");
  await page.click("text=Do it");
  await page.waitForSelector("text=It is stored, and served.");
  const answer = await server.api("PATCH", "/v1/owners/external-dns/records", { upsert: [{ ...held, values: ["2001:db8::2"] }] });
  check(`B: the owner writes its record: ${JSON.stringify(answer.body)}`, answer.status === 200);
  await page.click("nav >> text=Conflicts");
  check("B: nothing is in the way any more", !(await page.textContent("main")).includes("gate.example.com."));
  check(`B: ${page.faults.join("; ")}`, page.faults.length === 0);
  await page.context().close();
}

async function edits(browser, server) {
  const page = await open(browser, {});
  await signIn(page, server);
  await page.goto(`${server.url}/ui/records/edit`);
  await page.fill("#owner", "team-a");
  await page.fill("#name", "edited.example.com.");
  await page.fill("#type", "A");
  await page.fill("#values", "192.0.2.7\n192.0.2.8");
  await page.click("text=Show the plan");
  check("edit: the plan shows what comes", (await page.locator("main ins").count()) === 2);
  await shot(page, "plan");
  await page.click("text=Do it");
  check("edit: it is served", (await dig(server, "edited.example.com", 1)).answers === 2);
  await page.click("text=Go on");
  await page.getByRole("link", { name: "Edit edited.example.com. A of team-a" }).click();
  await page.fill("#values", "192.0.2.9");
  await page.click("text=Show the plan");
  check("edit: the plan shows what goes", (await page.locator("main del").count()) === 2);
  await page.click("text=Do it");
  check("edit: it is changed", (await dig(server, "edited.example.com", 1)).answers === 1);
  await page.goto(`${server.url}/ui/history`);
  await page.locator("button", { hasText: "Revert" }).first().click();
  await page.click("text=Do it");
  await page.waitForSelector("text=It is stored, and served.");
  check("edit: it is reverted", (await dig(server, "edited.example.com", 1)).answers === 2);
  await page.keyboard.press("/");
  check("the key for the search", (await page.evaluate(() => document.activeElement.id)) === "search");
  await page.keyboard.type("edited.example.com");
  await page.keyboard.press("Enter");
  await page.waitForSelector(".verdict");
  const before = await page.context().cookies();
  check("the cookie is for the server alone", before.every((cookie) => cookie.httpOnly && cookie.sameSite === "Strict"));
  await page.click("text=Sign out");
  check("signed out", (await page.context().cookies()).length === 0);
  check(`edit: ${page.faults.join("; ")}`, page.faults.length === 0);
  await page.context().close();
}

async function markup(browser, server) {
  const owner = 'x<img src=x onerror="window.hit=1">';
  const answer = await server.api("PUT", `/v1/owners/${encodeURIComponent(owner)}/records`, {
    kind: "<script>window.hit=1</script>",
    records: [{ name: "markup.example.com.", type: "TXT", values: ["</code><script>window.hit=1</script>"] }],
  });
  check("markup: it is taken as text", answer.status === 200);
  const page = await open(browser, {});
  await signIn(page, server);
  for (const view of [...VIEWS, "/ui?name=markup.example.com&type=TXT", `/ui?name=${encodeURIComponent("<script>window.hit=1</script>")}`, `/ui/owners?owner=${encodeURIComponent(owner)}`]) {
    await page.goto(server.url + view);
    check(`markup: ${view}`, (await page.evaluate(() => [window.hit, document.querySelectorAll("main script, main img").length].join())) === ",0");
  }
  check(`markup: ${page.faults.join("; ")}`, page.faults.length === 0);
  await page.context().close();
}

async function withoutScript(browser, server) {
  const page = await open(browser, { javaScriptEnabled: false });
  await signIn(page, server);
  for (const view of VIEWS) {
    await page.goto(server.url + view);
    check(`without JavaScript: ${view}`, (await page.locator("h1").count()) === 1);
  }
  await page.goto(`${server.url}/ui`);
  await page.fill("#name", "example.com");
  await page.click("main button");
  check("without JavaScript: explain", (await page.locator(".verdict").count()) === 1);
  await page.goto(`${server.url}/ui/records?name=example.com&type=ALIAS`);
  await page.locator("main a.quiet").first().click();
  await page.click("text=Show the plan");
  check("without JavaScript: a plan", (await page.locator("text=Do it").count()) === 1);
  await page.context().close();
}

async function live(browser, server) {
  const page = await open(browser, {});
  await page.goto(`${server.url}/ui/overview`);
  for (let count = 0; count < 5; count += 1) await dig(server, "no-such-name.example.com", 1);
  await page.waitForSelector("#live >> text=no-such-name.example.com.", { timeout: 20000 });
  check("live: names that fail come by themselves", true);
  check("live: no buttons without a token", (await page.locator("main button:not(.command button)").count()) === 0);
  await page.context().close();
}

async function full(browser, server) {
  for (let part = 0; part < 10; part += 1) {
    const records = Array.from({ length: 1000 }, (_, at) => ({ name: `n${part}-${at}.example.com.`, type: "A", values: ["192.0.2.1"] }));
    const answer = await server.api("PUT", `/v1/owners/bulk-${part}/records`, { records });
    check("full: records", answer.status === 200);
  }
  await views(browser, server, "full", { axe: false });
  const page = await open(browser, {});
  await page.goto(`${server.url}/ui/records?owner=bulk-3`);
  let rows = await page.locator("tbody tr").count();
  while (await page.locator("text=Next page").count()) {
    await page.click("text=Next page");
    rows += await page.locator("tbody tr").count();
  }
  check(`full: ${rows} rows on all pages`, rows === 1000);
  await page.context().close();
}

async function failing(browser, server) {
  const page = await open(browser, {});
  await signIn(page, server);
  const { execFileSync } = require("node:child_process");
  const program = "import sqlite3,sys\nd=sqlite3.connect(sys.argv[1],timeout=20)\nfor (n,) in d.execute(\"select name from sqlite_master where type='table' and name not like 'sqlite%' and name not like '\\_%' escape '\\\\'\").fetchall(): d.execute(f'alter table {n} rename to broken_{n}')\nd.commit()";
  execFileSync("python3", ["-c", program, path.join(server.folder, "tenured.db")]);
  for (const view of [...VIEWS, "/ui?name=example.com"]) {
    const answer = await page.goto(server.url + view);
    const text = await page.textContent("main");
    const front = view === "/ui" || view === "/ui/overview";
    check(`failing: ${view}: ${answer.status()}: ${text}`, front ? answer.status() === 200 : answer.status() === 503 && text.includes("store cannot be read"));
    await accessible(page, `failing ${view}`);
    await shot(page, `failing${view.replaceAll(/[/?=.]/g, "-")}`);
  }
  check("failing: DNS goes on", (await dig(server, "example.com", 6)).answers === 1);
  await page.context().close();
}

async function main() {
  const browser = await chromium.launch({ executablePath: "/usr/bin/chromium", args: ["--no-sandbox", "--disable-gpu"] });
  const servers = [];
  try {
    const empty = await serve("empty", []);
    servers.push(empty);
    await views(browser, empty, "empty");
    const sample = await serve("sample", ["--zones", path.resolve(zones)]);
    servers.push(sample);
    await views(browser, sample, "visitor", { token: null });
    await live(browser, sample);
    await incidentA(browser, sample);
    await incidentB(browser, sample);
    await edits(browser, sample);
    await markup(browser, sample);
    await withoutScript(browser, sample);
    await views(browser, sample, "sample");
    await full(browser, sample);
    await failing(browser, sample);
  } finally {
    await browser.close();
    for (const server of servers) await server.stop();
  }
  console.log(`page: ${passed} passed, 0 failed`);
}

main().catch((error) => { console.log(`page: ${error.stack}`); process.exitCode = 1; });
