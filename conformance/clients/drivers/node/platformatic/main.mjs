// The driver of @platformatic/kafka, as its README reads from a stream.
import { Consumer } from '@platformatic/kafka'
import { readFileSync } from 'node:fs'
import { Unsupported, User, drive } from './user.mjs'

const home = new URL('./node_modules/@platformatic/kafka/package.json', import.meta.url)
const { version } = JSON.parse(readFileSync(home))
const assignors = ['roundrobin', 'cooperative-sticky']

class PlatformaticUser extends User {
  #assigned = []

  async start (told) {
    if (!assignors.includes(told.assignor)) throw new Unsupported(`there is no assignor ${told.assignor}`)
    if (told.rack !== null) throw new Unsupported('a consumer has no rack')
    this.consumer = new Consumer({
      groupId: told.group,
      clientId: told.client_id,
      bootstrapBrokers: told.bootstrap.split(','),
      sessionTimeout: told.session_timeout_ms,
      heartbeatInterval: told.heartbeat_interval_ms,
      rebalanceTimeout: told.max_poll_interval_ms,
      protocols: [{ name: told.assignor, version: 1 }],
      autocommit: told.auto_commit_ms ?? false,
      ...(told.instance !== null && { groupInstanceId: told.instance }),
      ...told.settings
    })
    this.consumer.on('consumer:group:join', ({ assignments }) => this.#joined(assignments))
    if (told.assignor !== 'cooperative-sticky') { // there it may keep what it has
      this.consumer.on('consumer:group:rebalance', () => this.tellPartitions('revoked', this.#assigned))
    }
    this.consumer.on('consumer:heartbeat:error', ({ error }) => this.#warn('consumer:heartbeat:error', error))
    this.consumer.on('consumer:group:autocommit:error', ({ error }) => this.#warn('consumer:group:autocommit:error', error))
    this.consumer.on('error', error => this.tellError('error', error))
    this.fallbackMode = told.auto_offset_reset
    this.topics = told.topics
    await this.#consume()
  }

  #joined (assignments) {
    this.#assigned = (assignments ?? [])
      .flatMap(({ topic, partitions }) => partitions.map(number => [topic, number]))
    this.tellPartitions('assigned', this.#assigned)
  }

  #warn (where, error) {
    this.tell('error', { where, ...this.error(error), fatal: false })
  }

  async #consume () {
    this.stream = await this.consumer.consume({
      topics: this.topics, mode: 'committed', fallbackMode: this.fallbackMode
    })
    this.#read(this.stream)
  }

  async #read (stream) {
    try {
      for await (const message of stream) {
        this.tellRecord(message.topic, message.partition, message.offset, message)
        await this.polling()
      }
      if (this.stream === stream) this.tell('ended', {})
    } catch (error) {
      this.tell('error', { where: 'stream', ...this.error(error), fatal: true }) // it is destroyed
    }
  }

  async pollOn () {
    super.pollOn()
    if (this.stream?.destroyed) await this.#consume()
  }

  async commit () {
    for (const message of this.last.values()) await message.commit()
  }

  async #closeStream () {
    const { stream } = this
    this.stream = null
    await stream?.close()
  }

  async subscribe (topics) {
    this.topics = topics
    await this.#closeStream()
    await this.#consume()
  }

  async close () {
    await this.#closeStream()
    await this.consumer.close()
  }

  error (error) {
    const told = answered(error) ?? error
    return { code: told.apiId ?? told.code ?? told.name, fatal: !told.canRetry, message: error.message }
  }
}

/** The broker's error within one of the library's, which wrap each other. */
function answered (error) {
  if (error.apiId !== undefined) return error
  for (const inner of [...(error.errors ?? []), ...(error.cause ? [error.cause] : [])]) {
    const found = answered(inner)
    if (found) return found
  }
}

drive({
  client: '@platformatic/kafka',
  version,
  features: ['static', 'cooperative', 'auto-commit', 'manual-commit', 'pause', 'next-generation'],
  assignors
}, PlatformaticUser)
