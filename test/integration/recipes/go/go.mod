module example.com/pets

go 1.19
