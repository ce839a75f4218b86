// Needs github.com/IBM/sarama NewBalanceStrategyCooperativeSticky

package main

import "github.com/IBM/sarama"

func init() { strategies[cooperative] = sarama.NewBalanceStrategyCooperativeSticky }
