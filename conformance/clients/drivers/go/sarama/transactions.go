// Needs github.com/IBM/sarama NewConsumerGroupMetadata

package main

import (
	"strings"

	"github.com/IBM/sarama"
)

func init() { transact = commitInTransaction }

// commitInTransaction sends offsets to a transaction of a producer, and commits it.
func commitInTransaction(
	m *member, session sarama.ConsumerGroupSession, read map[string]map[int32]int64,
) error {
	config := sarama.NewConfig()
	config.Version = sarama.MaxVersion
	config.ClientID = m.started.ClientID
	config.Net.MaxOpenRequests = 1
	config.Producer.Idempotent = true
	config.Producer.RequiredAcks = sarama.WaitForAll
	config.Producer.Transaction.ID = m.started.Group + "-" + m.started.ClientID
	producer, err := sarama.NewAsyncProducer(strings.Split(m.started.Bootstrap, ","), config)
	if err != nil {
		return err
	}
	defer producer.Close()
	if err = producer.BeginTxn(); err != nil {
		return err
	}
	metadata := sarama.NewConsumerGroupMetadata(m.started.Group)
	metadata.GenerationID, metadata.MemberID = session.GenerationID(), session.MemberID()
	metadata.GroupInstanceID = m.started.Instance
	offsets := map[string][]*sarama.PartitionOffsetMetadata{}
	for topic, partitions := range read {
		for partition, offset := range partitions {
			offsets[topic] = append(offsets[topic],
				&sarama.PartitionOffsetMetadata{Partition: partition, Offset: offset})
		}
	}
	if err = producer.AddOffsetsToTxnWithGroupMetadata(offsets, metadata); err == nil {
		err = producer.CommitTxn()
	}
	if err != nil && producer.TxnStatus()&sarama.ProducerTxnFlagAbortableError != 0 {
		_ = producer.AbortTxn() // the first error is the one that counts
	}
	return err
}
