// node confluent-kafka-javascript-fenced.mjs BOOTSTRAP, with @confluentinc/kafka-javascript 1.10.1
import confluent from '@confluentinc/kafka-javascript'

const name = `fenced-${Date.now()}`
const brokers = { 'bootstrap.servers': process.argv[2] }
const sleep = ms => new Promise(resolve => setTimeout(resolve, ms))
const kafka = new confluent.KafkaJS.Kafka()
const admin = kafka.admin(brokers)
await admin.connect()
await admin.createTopics({ topics: [{ topic: name, numPartitions: 1 }] })
await admin.disconnect()

let told = 0
let logged = 0
process.on('unhandledRejection', () => { told += 1 })
process.on('uncaughtException', () => { told += 1 })
const logger = { info () {}, debug () {}, warn () {}, setLogLevel () {}, error: text => { logged += /Fatal/.test(text) } }
logger.namespace = () => logger

async function member (who) {
  const consumer = kafka.consumer({
    ...brokers,
    'group.id': name,
    'group.instance.id': 'i-1',
    'heartbeat.interval.ms': 500,
    'auto.offset.reset': 'earliest',
    kafkaJS: { logger },
    rebalance_cb: error => { told += who === 'first' && /fenced/i.test(error.message) }
  })
  await consumer.connect()
  await consumer.subscribe({ topics: [name] })
  const read = []
  consumer.run({ eachMessage: async ({ message }) => { read.push(message) } }).catch(() => { told += 1 })
  while (consumer.assignment().length === 0) await sleep(100)
  return { consumer, read }
}

const first = await member('first')
await member('second')
await sleep(8000)
const producer = kafka.producer(brokers)
await producer.connect()
await producer.send({ topic: name, messages: [{ value: 'x' }] })
await sleep(5000)
console.log('the first process was fenced; lines of its log about a fatal error:', logged)
console.log('errors that its program got in 13 s:', told)
console.log('records that it reads:', first.read.length)
process.exit(0)
