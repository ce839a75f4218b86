// Shared by drivers for Node.js: the lines of client driver protocol 1, and a consumer's user.
import { writeSync } from 'node:fs'
import { createInterface } from 'node:readline'

export function say (object) {
  let rest = Buffer.from(JSON.stringify(object) + '\n')
  while (rest.length > 0) {
    try {
      rest = rest.subarray(writeSync(1, rest))
    } catch (error) {
      if (error.code !== 'EAGAIN') throw error // a full pipe
    }
  }
}

console.log = console.error // stdout is for the protocol
console.info = console.error

/** The library lacks what a command needs; the message is the reason. */
export class Unsupported extends Error {}

/** A user and its consumer, as soon as there is one; a driver gives it start, commit, close, … */
export class User {
  #opened = Promise.resolve()
  #open = () => {}

  constructor (name) {
    this.name = name
    this.last = new Map() // of each partition, the last record that was read
  }

  tell (event, fields) {
    const at_ms = Math.round(performance.now() * 10) / 10
    say({ event, consumer: this.name, at_ms, ...fields })
  }

  tellPartitions (event, partitions) {
    this.tell(event, { partitions })
  }

  tellRecord (topic, partition, offset, message) {
    this.last.set(`${topic}-${partition}`, message)
    this.tell('records', { partition: [topic, partition], first: Number(offset), count: 1 })
  }

  tellError (where, error) {
    this.tell('error', { where, ...this.error(error) })
  }

  /** Resolves while the user polls. */
  polling () {
    return this.#opened
  }

  stopPolling () {
    this.#open()
    this.#opened = new Promise(resolve => { this.#open = resolve })
  }

  pollOn () {
    this.#open()
    this.#opened = Promise.resolve()
  }

  async unsubscribe () {
    throw new Unsupported('it can ask for other topics, not for none')
  }

  async pause () {
    throw new Unsupported('the driver pauses nothing')
  }

  async resume () {
    throw new Unsupported('the driver pauses nothing')
  }

  async commitInTransaction () {
    throw new Unsupported('the driver makes no transactions')
  }

  async obey (command) {
    const begun = performance.now()
    const done = { id: command.id, ok: true }
    if (command.cmd !== 'start' && !this.consumer) throw new Unsupported('there is no consumer')
    switch (command.cmd) {
      case 'start': await this.start(command); break
      case 'stop-polling': this.stopPolling(); break
      case 'poll-on': await this.pollOn(); break
      case 'commit': await this.commit(); break
      case 'commit-in-transaction': await this.commitInTransaction(); break
      case 'subscribe': await this.subscribe(command.topics); break
      case 'unsubscribe': await this.unsubscribe(); break
      case 'pause': await this.pause(byTopic(command.partitions)); break
      case 'resume': await this.resume(byTopic(command.partitions)); break
      case 'close':
        await this.close()
        done.took_ms = Math.round(performance.now() - begun)
        break
      default: throw new Unsupported(`there is no command ${command.cmd}`)
    }
    return done
  }

  async answer (command) {
    try {
      say(await this.obey(command))
    } catch (error) {
      const unsupported = error instanceof Unsupported
      say({ id: command.id, ...(unsupported ? { unsupported: error.message } : { error: this.error(error) }) })
    }
  }
}

/** Groups pairs of topic and number as the libraries want them. */
function byTopic (pairs) {
  const topics = new Map()
  for (const [topic, number] of pairs) topics.set(topic, [...topics.get(topic) ?? [], number])
  return [...topics].map(([topic, partitions]) => ({ topic, partitions }))
}

/** Reads commands until `bye` or the end of stdin. */
export function drive (introduction, Kind) {
  const users = new Map()
  const lines = createInterface({ input: process.stdin })
  lines.on('close', () => process.exit(0))
  lines.on('line', line => {
    const command = JSON.parse(line)
    const { id, cmd, consumer } = command
    if (cmd === 'hello') {
      say({ id, protocol: 1, language: 'javascript', ...introduction })
    } else if (cmd === 'bye') {
      say({ id, ok: true })
      process.exit(0) // consumers that are open are left as a crash would leave them
    } else if (cmd !== 'start' && !users.has(consumer)) {
      say({ id, unsupported: `there is no consumer for ${cmd}` })
    } else {
      if (cmd === 'start') users.set(consumer, { user: new Kind(consumer), done: Promise.resolve() })
      const entry = users.get(consumer)
      entry.done = entry.done.then(() => entry.user.answer(command))
      if (cmd === 'close') users.delete(consumer)
    }
  })
}
