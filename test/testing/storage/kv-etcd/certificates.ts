/** Creates a temporary certificate authority with one server and one client certificate, with the openssl command. */
import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { EtcdTlsFiles } from "./start-etcd.ts";

/** Undefined if there is no openssl in PATH. */
export function makeCertificates(directory: string): EtcdTlsFiles | undefined {
  const file = (name: string): string => join(directory, name);
  const openssl = (...commandLine: string[]): void => {
    execFileSync("openssl", commandLine, { cwd: directory, stdio: "ignore" });
  };
  const newKey = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"];
  const issue = (name: string, extensions: string): void => {
    writeFileSync(file(`${name}.ext`), extensions);
    openssl("req", "-new", ...newKey, "-keyout", `${name}.key`, "-out", `${name}.csr`, "-subj", `/CN=${name}`);
    const authority = ["-CA", "ca.crt", "-CAkey", "ca.key", "-CAcreateserial"];
    openssl(
      "x509",
      "-req",
      "-in",
      `${name}.csr`,
      ...authority,
      "-out",
      `${name}.crt`,
      "-days",
      "2",
      "-extfile",
      `${name}.ext`,
    );
  };
  try {
    openssl("version");
  } catch {
    return undefined;
  }
  openssl(
    "req",
    "-x509",
    ...newKey,
    "-keyout",
    "ca.key",
    "-out",
    "ca.crt",
    "-days",
    "2",
    "-subj",
    "/CN=test authority",
  );
  issue("server", "subjectAltName=IP:127.0.0.1,DNS:etcd.test\nextendedKeyUsage=serverAuth,clientAuth");
  issue("client", "extendedKeyUsage=clientAuth");
  return {
    ca: readFileSync(file("ca.crt")),
    caFile: file("ca.crt"),
    certFile: file("server.crt"),
    keyFile: file("server.key"),
    clientCert: readFileSync(file("client.crt")),
    clientKey: readFileSync(file("client.key")),
  };
}
