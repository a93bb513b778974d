/** A KMS plugin in the process of the test, which takes time and fails while `isDown` is set. */
import type { Clock } from "../../src/base/clock.ts";
import { sleep } from "../../src/base/clock.ts";
import type { OpenKmsPlugin } from "../../src/storage/encryption/active-encryption.ts";
import { KeyService } from "../testing/storage/encryption/key-service.ts";

export class InProcessKms {
  readonly service: KeyService;
  readonly #clock: Clock;
  isDown = false;
  /** How long a call takes. 0: a call takes no virtual time. */
  latencyMs = 0;
  closed = 0;

  constructor(clock: Clock, keyId = "key-1") {
    this.#clock = clock;
    this.service = new KeyService(keyId);
  }

  readonly open: OpenKmsPlugin = (_address, onCall) => {
    const call = async <T>(method: string, work: () => T): Promise<T> => {
      if (this.latencyMs > 0) await sleep(this.#clock, this.latencyMs);
      onCall(method, this.latencyMs / 1000, this.isDown ? "Unavailable" : "OK");
      if (this.isDown) throw new Error("the plugin is down");
      return work();
    };
    return {
      status: () => call("Status", () => this.service.status()),
      encrypt: (plaintext) => call("Encrypt", () => this.service.encrypt(plaintext)),
      decrypt: (dataKey) => call("Decrypt", () => this.service.decrypt(dataKey)),
      close: () => void this.closed++,
    };
  };
}
