/** Runs the KMS plugin for tests in its own process: node kms-plugin-process.ts SOCKET KEY-ID [RETIRED-KEY-ID…]. */
import { KeyService } from "../testing/storage/encryption/key-service.ts";
import { startKmsPlugin } from "../testing/storage/encryption/kms-plugin-server.ts";

const [socket = "", keyId = "", ...retired] = process.argv.slice(2);
const service = new KeyService(keyId);
for (const id of retired) service.retired.add(id);
await startKmsPlugin(socket, service);
console.log("ready");
