from paylock.cli import main

main()
