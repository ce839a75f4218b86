module example.com/coordinator

go 1.22
