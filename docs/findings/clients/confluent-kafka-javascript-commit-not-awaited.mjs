// node confluent-kafka-javascript-commit-not-awaited.mjs BOOTSTRAP, with @confluentinc/kafka-javascript 1.10.1
import confluent from '@confluentinc/kafka-javascript'

const name = `awaited-${Date.now()}`
const kafka = new confluent.KafkaJS.Kafka({ kafkaJS: { brokers: [process.argv[2]] } })
const admin = kafka.admin()
await admin.connect()
await admin.createTopics({ topics: [{ topic: name, numPartitions: 1 }] })
await admin.disconnect()
const consumer = kafka.consumer({ kafkaJS: { groupId: name, autoCommit: false } })
await consumer.connect()
await consumer.subscribe({ topics: [name] })
consumer.run({ eachMessage: async () => {} })
while (consumer.assignment().length === 0) await new Promise(resolve => setTimeout(resolve, 100))
try {
  await consumer.commitOffsets([{ topic: name, partition: 7, offset: '1' }])
  console.log('a commit of partition 7, which there is not: commitOffsets resolved')
} catch (error) {
  console.log('a commit of partition 7, which there is not:', error.type)
}
await consumer.disconnect()
